#!/usr/bin/env node
import { runProgram } from '../dist/base/run-program.js';
import { main } from '../dist/cli/main.js';

await runProgram(main);
