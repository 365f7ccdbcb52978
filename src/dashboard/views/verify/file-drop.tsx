// Takes files, dropped or chosen.
import './verify.css';
import { type DragEvent, type ReactNode, useId, useState } from 'react';
import { Icon } from '../../ui/icon.tsx';

interface FileDropProps {
  onFiles: (files: readonly File[]) => void;
  /** Types of files to choose from; any if absent. */
  accept?: string;
  multiple?: boolean;
  /** The label. */
  children: ReactNode;
}

export function FileDrop({ onFiles, accept, multiple = false, children }: FileDropProps) {
  const id = useId();
  const [over, setOver] = useState(false);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    onFiles([...event.dataTransfer.files]);
  };
  return (
    <div className="drop" data-over={over || undefined}>
      <input
        id={id}
        type="file"
        accept={accept}
        multiple={multiple}
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
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
        <span>{children}</span>
      </label>
    </div>
  );
}
