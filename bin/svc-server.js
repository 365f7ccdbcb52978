#!/usr/bin/env node
import { runProgram } from '../dist/base/run-program.js';
import { main } from '../dist/svc-server/program.js';

await runProgram(main);
