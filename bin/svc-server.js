#!/usr/bin/env node
import { runProgram } from '../dist/base/run-program.js';
import { main } from '../dist/programs/svc-server.js';

await runProgram(main);
