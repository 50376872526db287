// Keeps an error of one screen from taking the whole console with it: such as data that it cannot draw, or a part of the
// console that cannot be loaded.

import { Component, type ReactNode } from 'react'
import { messageOf } from '../api/client.ts'
import { shown } from './shown.ts'

interface ErrorBoundaryProps {
  /** A new value, such as another address, draws the children again. */
  readonly of: string
  readonly children: ReactNode
}

interface State {
  readonly failed: { readonly error: unknown } | null
}

export class ErrorBoundary extends Component<ErrorBoundaryProps, State> {
  override state: State = { failed: null }

  static getDerivedStateFromError(error: unknown): State {
    return { failed: { error } }
  }

  override componentDidUpdate(before: ErrorBoundaryProps): void {
    if (this.state.failed && before.of !== this.props.of) this.setState({ failed: null })
  }

  override render(): ReactNode {
    const { failed } = this.state
    if (!failed) return this.props.children
    return (
      <div className="panel border-stop p-4" role="alert">
        <h1 className="mb-2 font-semibold">This part of the console cannot be shown</h1>
        <p className="wrap mb-3">{shown(messageOf(failed.error))}</p>
        <button type="button" className="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </div>
    )
  }
}
