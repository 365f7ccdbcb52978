// Takes a file with evidence or a bundle, and shows what it proves.
import './verify.css';
import { Alert, Text } from '@mantine/core';
import { type DragEvent, useId, useState } from 'react';
import { auditBundleAlone } from '../../../proof/audit-bundle.ts';
import { Icon } from '../../ui/icon.tsx';
import { Hex } from '../../ui/values.tsx';
import { Checks, HashResult } from './hash-result.tsx';
import { readSubject, type Subject } from './read-subject.ts';

/** The file's own statements, and the chain's. */
export function FileResult({ subject }: { subject: Subject }) {
  if (subject.kind === 'error') {
    return (
      <Alert color="red" role="alert" title={`${subject.file} cannot be checked`}>
        {subject.message}
      </Alert>
    );
  }
  if (subject.kind === 'evidence') {
    return (
      <>
        <section className="card" aria-label="File" role="status">
          <h2 className="card-title">{subject.file}</h2>
          <Text size="sm" mb="xs">
            Evidence, hashed in this browser:
          </Text>
          <Hex value={subject.hash} what="proof hash" />
        </section>
        <HashResult hash={subject.hash} taskId={undefined} />
      </>
    );
  }
  const { bundle, file } = subject;
  return (
    <>
      <section className="card" aria-label="File" role="status">
        <h2 className="card-title">{file}</h2>
        <Text size="sm" mb="xs">
          A bundle for “{bundle.claim.title}”, checked in this browser without a chain:
        </Text>
        <Checks checks={auditBundleAlone(bundle)} />
      </section>
      <HashResult hash={bundle.proof_hash} taskId={bundle.task.id} bundle={bundle} />
    </>
  );
}

/** Accepts a file with evidence or a bundle, dropped or chosen. */
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
          Drop evidence or a bundle here, or <u>choose a file</u>
        </span>
      </label>
    </div>
  );
}
