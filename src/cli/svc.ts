import { runProgram } from '../base/run-program.ts';
import { main } from './main.ts';

void runProgram(main);
