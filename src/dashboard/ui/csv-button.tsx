// A button that saves a list as CSV, as the service answers it.
import { Button, type ButtonProps } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { download } from '../api.ts';
import { Problem } from './states.tsx';
import { saveFile } from './values.tsx';

export interface CsvButtonProps extends ButtonProps {
  /** Path of the list. */
  path: string;
  query: Record<string, string>;
  /** Name of the file, without `.csv`. */
  name: string;
}

export function CsvButton({ path, query, name, ...button }: CsvButtonProps) {
  const save = useMutation({
    async mutationFn() {
      const target = `${path}?${new URLSearchParams(query)}`;
      saveFile(`${name}.csv`, await download(target, { headers: { accept: 'text/csv' } }));
    },
  });
  return (
    <>
      <Button {...button} loading={save.isPending} onClick={() => save.mutate()}>
        Download CSV
      </Button>
      <Problem of={save} />
    </>
  );
}
