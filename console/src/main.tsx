// The entry of the console.

import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { basePath, queryClient } from './api/client.ts'
import { App } from './app.tsx'
import { Identified } from './shell/me.tsx'
import { applyTheme, readTheme } from './shell/theme.ts'

applyTheme(readTheme())
const root = document.getElementById('root')
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <Router base={basePath}>
          <Identified>
            <App />
          </Identified>
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  )
