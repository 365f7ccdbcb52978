// Compares the files that evidence lists with files that a person drops. They stay on this computer.
import { useState } from 'react';
import type { FileDigest } from '../../../proof/files/digest.ts';
import { type ComparedFile, fileText, type GivenFile } from '../../../proof/files/manifest.ts';
import { Card } from '../../ui/card.tsx';
import { FileDrop } from './file-drop.tsx';

interface ListedFilesProps {
  files: readonly ComparedFile[];
  onGiven: (file: GivenFile) => void;
}

export function ListedFiles({ files: compared, onGiven }: ListedFilesProps) {
  const [message, setMessage] = useState('');
  const [shown, setShown] = useState<readonly { file: File; url: string }[]>([]);
  const take = async (files: readonly File[]) => {
    for (const file of files) {
      setMessage(`Hashing ${file.name}…`);
      const digest = await digestOf(file);
      setMessage(digest === null ? `${file.name} cannot be read.` : '');
      if (digest === null) continue;
      onGiven({ name: file.name, ...digest });
      if (/^(image|video)\//.test(file.type)) {
        setShown((all) => [...all, { file, url: URL.createObjectURL(file) }]);
      }
    }
  };
  return (
    <Card title="Files that the evidence lists">
      <ul className="checks">
        {compared.map((file, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two files can have the same name
          <li key={i} data-ok={file.status === 'not_given' ? undefined : file.status === 'matches'}>
            {fileText(file)} ({file.bytes} bytes)
          </li>
        ))}
      </ul>
      <FileDrop onFiles={take} multiple>
        Drop these files here, or <u>choose files</u>. They stay on this computer.
      </FileDrop>
      <p role="status">{message}</p>
      {shown.length > 0 && (
        <div className="previews">
          {shown.map(({ file, url }) => (
            <figure key={url}>
              {file.type.startsWith('image/') ? (
                <img src={url} alt={file.name} />
              ) : (
                // biome-ignore lint/a11y/useMediaCaption: a robot's recording has no captions
                <video src={url} controls aria-label={file.name} />
              )}
              <figcaption>{file.name}, from this computer</figcaption>
            </figure>
          ))}
        </div>
      )}
    </Card>
  );
}

/** Hashes a file in a worker; null if it cannot be read. */
async function digestOf(file: File): Promise<FileDigest | null> {
  const worker = new Worker(new URL('./file-worker.ts', import.meta.url), { type: 'module' });
  const digest = await new Promise<FileDigest | null>((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = () => resolve(null);
    worker.postMessage(file);
  });
  worker.terminate();
  return digest;
}
