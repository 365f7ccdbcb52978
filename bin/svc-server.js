#!/usr/bin/env node
import { loadAndRun } from '../dist/base/run-program.js';

await loadAndRun('svc-server', () => import('../dist/programs/svc-server.js'));
