// The files that a task's evidence lists, to be compared with files of this computer.
import { useState } from 'react';
import { compareFiles, type GivenFile, listedFiles } from '../../../proof/files/manifest.ts';
import type { Proof } from '../../../proof/json-value.ts';
import { ListedFiles } from '../verify/listed-files.tsx';

/** Renders nothing if the evidence lists no files. */
export default function FilesCard({ proof }: { proof: Proof }) {
  const [given, setGiven] = useState<readonly GivenFile[]>([]);
  const listed = listedFiles(proof);
  if (typeof listed === 'string') return null;
  return (
    <ListedFiles
      files={compareFiles(listed, given)}
      onGiven={(file) => setGiven((all) => [...all, file])}
    />
  );
}
