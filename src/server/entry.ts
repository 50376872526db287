// The entry `pawl/server`: a handler for HTTP requests that embeds in any host, a server for Node, and webhooks.

export { type RunningServer, startServer, type StartServerOptions } from './listen.ts'
export { createServer, type RequestInfo, type Server } from './server.ts'
export type { FixedToken, Identity } from './http/authenticate.ts'
export type { McpEndpointOptions, ServerLimits, ServerOptions } from './options.ts'
export { webhook, type WebhookLink, type WebhookMessage, type WebhookOptions } from './webhooks/webhook.ts'
export { verifyWebhook, type VerifyWebhook } from './webhooks/verify-webhook.ts'
export type { WebhookSecret } from './webhooks/sign-webhook.ts'
export type { Permission } from './permissions.ts'
export type { OperationName } from './endpoints.ts'
