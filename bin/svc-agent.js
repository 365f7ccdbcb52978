#!/usr/bin/env node
import { runProgram } from '../dist/base/run-program.js';
import { main } from '../dist/programs/svc-agent.js';

await runProgram(main);
