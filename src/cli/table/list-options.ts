import type { OptionSpec } from '../command.ts';
import { positive } from '../option-values.ts';

export const limitOption: OptionSpec = {
  flags: '-n, --limit <count>',
  summary: 'most lines to answer',
  parse: positive,
  default: 50,
};

export const cursorOption: OptionSpec = {
  flags: '--cursor <cursor>',
  summary: 'go on where a list ended: next_cursor of its JSON',
};
