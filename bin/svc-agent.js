#!/usr/bin/env node
import { main } from '../dist/agent/main.js';
import { runProgram } from '../dist/base/run-program.js';

await runProgram(main);
