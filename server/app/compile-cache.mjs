// In JavaScript, so nothing needs stripping before it runs: a start reuses the stripped and compiled sources of the
// last one.
import { enableCompileCache } from 'node:module'

enableCompileCache()
