#!/usr/bin/env node
import { main } from '../dist/agent/main.js';

process.exitCode = await main(process.argv);
