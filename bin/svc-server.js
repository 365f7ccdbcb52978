#!/usr/bin/env node
import { runProgram } from '../dist/base/run-program.js';
import { main } from '../dist/server/commands/program.js';

await runProgram(main);
