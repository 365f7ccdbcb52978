// Takes a file with a receipt, a bundle or evidence, dropped or chosen.
import './verify.css';
import { type DragEvent, useId, useState } from 'react';
import { Icon } from '../../ui/icon.tsx';
import { type Found, readFile } from './read-subject.ts';

export function FileDrop({ onFound }: { onFound: (found: Found) => void }) {
  const id = useId();
  const [over, setOver] = useState(false);
  const take = async (files: FileList | null) => {
    const file = files?.[0];
    if (file !== undefined) onFound(await readFile(file));
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  return (
    <div className="drop" data-over={over || undefined}>
      <input
        id={id}
        type="file"
        accept=".json,application/json"
        onChange={({ currentTarget }) => {
          take(currentTarget.files);
          // Lets the same file be chosen again.
          currentTarget.value = '';
        }}
      />
      <label
        htmlFor={id}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
        <Icon name="file" size={28} />
        <span>
          Drop a receipt, a bundle or evidence here, or <u>choose a file</u>
        </span>
      </label>
    </div>
  );
}
