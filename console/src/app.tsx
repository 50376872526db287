// The screens and their addresses.

import { lazy, type ReactNode, Suspense } from 'react'
import { Route, Switch, useLocation } from 'wouter'
import { Frame, type NavigationItem } from './shell/frame.tsx'
import { useIdInPath, usePartsInPath } from './ui/address.ts'
import { ErrorBoundary } from './ui/error-boundary.tsx'
import { Loading, ScreenTitle } from './ui/parts.tsx'
import { DecisionScreen } from './screens/inbox/decision-screen.tsx'
import { InboxScreen } from './screens/inbox/inbox-screen.tsx'

/** Screens besides the first one are loaded when they are opened. */
const CallsScreen = lazy(async () => ({ default: (await import('./screens/calls/calls-screen.tsx')).CallsScreen }))
const CallScreen = lazy(async () => ({ default: (await import('./screens/calls/call-screen.tsx')).CallScreen }))

const SessionsScreen = lazy(async () => ({
  default: (await import('./screens/sessions/sessions-screen.tsx')).SessionsScreen,
}))
const SessionScreen = lazy(async () => ({
  default: (await import('./screens/sessions/session-screen.tsx')).SessionScreen,
}))
const SystemScreen = lazy(async () => ({ default: (await import('./screens/system/system-screen.tsx')).SystemScreen }))
const TasksScreen = lazy(async () => ({ default: (await import('./screens/tasks/tasks-screen.tsx')).TasksScreen }))
const TaskScreen = lazy(async () => ({ default: (await import('./screens/tasks/task-screen.tsx')).TaskScreen }))
const SchedulesScreen = lazy(async () => ({
  default: (await import('./screens/schedules/schedules-screen.tsx')).SchedulesScreen,
}))
const ScheduleScreen = lazy(async () => ({
  default: (await import('./screens/schedules/schedule-screen.tsx')).ScheduleScreen,
}))
const PolicyScreen = lazy(async () => ({ default: (await import('./screens/policy/policy-screen.tsx')).PolicyScreen }))
const McpScreen = lazy(async () => ({ default: (await import('./screens/mcp/mcp-screen.tsx')).McpScreen }))
const ToolsScreen = lazy(async () => ({ default: (await import('./screens/tools/tools-screen.tsx')).ToolsScreen }))
const ToolScreen = lazy(async () => ({ default: (await import('./screens/tools/tool-screen.tsx')).ToolScreen }))

const navigation: readonly NavigationItem[] = [
  { path: '/inbox', title: 'Inbox', key: 'i' },
  { path: '/calls', title: 'Calls', key: 'c' },
  { path: '/sessions', title: 'Sessions', key: 's' },
  { path: '/tasks', title: 'Tasks', key: 'k' },
  { path: '/tools', title: 'Tools', key: 't', isFirst: true },
  { path: '/schedules', title: 'Schedules', key: 'd' },
  { path: '/policy', title: 'Policy', key: 'p' },
  { path: '/mcp-servers', title: 'MCP', key: 'm' },
  { path: '/system', title: 'System', key: 'y' },
]

const Missing = (): ReactNode => <ScreenTitle>There is no such page</ScreenTitle>

interface OneProps {
  readonly section: string
  readonly show: (id: string) => ReactNode
}

/** The screen of one object, by the id in the address. */
function One({ section, show }: OneProps): ReactNode {
  const id = useIdInPath(section)
  return id === null || id === '' ? <Missing /> : show(id)
}

interface InSessionProps {
  readonly section: string
  readonly show: (session: string, id: string) => ReactNode
}

/** The screen of one object of a session, by both ids in the address. */
function InSession({ section, show }: InSessionProps): ReactNode {
  const [session = '', id = '', ...rest] = usePartsInPath(section) ?? []
  return session === '' || id === '' || rest.length > 0 ? <Missing /> : show(session, id)
}

/** An error of a screen leaves the navigation as it is. */
function Screen({ children }: { readonly children: ReactNode }): ReactNode {
  const [path] = useLocation()
  return (
    <ErrorBoundary of={path}>
      <Suspense fallback={<Loading />}>{children}</Suspense>
    </ErrorBoundary>
  )
}

export const App = (): ReactNode => (
  <Frame items={navigation}>
    <Screen>
      <Switch>
        <Route path="/" component={InboxScreen} />
        <Route path="/inbox" component={InboxScreen} />
        <Route path="/inbox/*">
          {() => <One section="inbox" show={(id) => <DecisionScreen key={id} id={id} />} />}
        </Route>
        <Route path="/calls" component={CallsScreen} />
        <Route path="/calls/*">
          {() => <One section="calls" show={(uid) => <CallScreen key={uid} uid={uid} />} />}
        </Route>
        <Route path="/sessions" component={SessionsScreen} />
        <Route path="/sessions/*">
          {() => <One section="sessions" show={(id) => <SessionScreen key={id} id={id} />} />}
        </Route>
        <Route path="/tasks" component={TasksScreen} />
        <Route path="/tasks/*">
          {() => (
            <InSession
              section="tasks"
              show={(session, id) => <TaskScreen key={`${session}/${id}`} session={session} id={id} />}
            />
          )}
        </Route>
        <Route path="/schedules" component={SchedulesScreen} />
        <Route path="/schedules/*">
          {() => (
            <InSession
              section="schedules"
              show={(session, id) => <ScheduleScreen key={`${session}/${id}`} session={session} id={id} />}
            />
          )}
        </Route>
        <Route path="/policy" component={PolicyScreen} />
        <Route path="/mcp-servers" component={McpScreen} />
        <Route path="/system" component={SystemScreen} />
        <Route path="/tools" component={ToolsScreen} />
        <Route path="/tools/*">
          {() => <One section="tools" show={(name) => <ToolScreen key={name} name={name} />} />}
        </Route>
        <Route component={Missing} />
      </Switch>
    </Screen>
  </Frame>
)
