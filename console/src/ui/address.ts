// The parts of the address that name something. The router decodes only some characters, so ids that contain a slash or
// a percent sign are read from the address itself.

import { useLocation, useSearch } from 'wouter'
import { basePath } from '../api/client.ts'

/** The id behind `/<section>/`. Null if it cannot be decoded. */
export function useIdInPath(section: string): string | null {
  useLocation() // renders again when the address changes
  try {
    return decodeURIComponent(location.pathname.slice(`${basePath}/${section}/`.length))
  } catch {
    return null
  }
}

/** The parts behind `/<section>/`, such as a session and an id in it. Null if one cannot be decoded. */
export function usePartsInPath(section: string): readonly string[] | null {
  useLocation()
  try {
    return location.pathname.slice(`${basePath}/${section}/`.length).split('/').map(decodeURIComponent)
  } catch {
    return null
  }
}

/** The query of the address, and how to replace it. */
export function useQueryFields(): readonly [URLSearchParams, (next: URLSearchParams) => void] {
  useSearch()
  const [path, navigate] = useLocation()
  const replace = (next: URLSearchParams): void => {
    const text = next.toString()
    navigate(text === '' ? path : `${path}?${text}`, { replace: true })
  }
  return [new URLSearchParams(location.search), replace]
}
