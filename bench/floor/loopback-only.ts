import { Server } from 'node:net'

/**
 * Preloaded into a server that has no setting for its address: with a port alone it would listen on every interface.
 */
const listen: unknown = Server.prototype.listen
Object.defineProperty(Server.prototype, 'listen', {
  value(this: Server, ...args: unknown[]): unknown {
    const [port, , ...rest] = args
    if (typeof listen !== 'function') return this
    return Reflect.apply(listen, this, typeof port === 'number' ? [port, '127.0.0.1', ...rest] : args)
  },
})
