import { type DragEvent, useId, useState } from 'react';
import { Icon } from '../../ui/icon.tsx';
import { readSubject, type Subject } from './read-subject.ts';
import './verify.css';

/** Takes evidence or a bundle, dropped or chosen. */
export function FileDrop({ onSubject }: { onSubject: (subject: Subject) => void }) {
  const id = useId();
  const [over, setOver] = useState(false);
  const take = async (files: FileList | null) => {
    const file = files?.[0];
    if (file !== undefined) onSubject(await readSubject(file));
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
          // The same file may be chosen again.
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
          Drop evidence or a bundle here, or <u>choose a file</u>
        </span>
      </label>
    </div>
  );
}
