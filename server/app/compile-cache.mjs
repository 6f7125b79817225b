// In JavaScript, so that nothing needs stripping before it: a start takes all sources stripped and compiled from the last one.
import { enableCompileCache } from 'node:module'

enableCompileCache()
