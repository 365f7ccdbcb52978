#!/usr/bin/env node
import { main } from '../dist/server/commands/program.js';

process.exitCode = await main(process.argv);
