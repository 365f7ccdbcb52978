#!/usr/bin/env node
import { loadAndRun } from '../dist/base/run-program.js';

await loadAndRun('svc-agent', () => import('../dist/programs/svc-agent.js'));
