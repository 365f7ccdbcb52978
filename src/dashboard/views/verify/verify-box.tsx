// Where a reader gives what is to be verified: a text or a file.
import { Button, Text } from '@mantine/core';
import {
  type FormEvent,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { useLocation } from 'wouter';
import { Card } from '../../ui/card.tsx';
import { TextField, useField } from '../../ui/fields.tsx';
import { Loading } from '../../ui/states.tsx';
import { FileDrop } from './file-drop.tsx';
import type { Found } from './read-subject.ts';

/** Reads what is given. It loads when it is needed. */
const reader = () => import('./read-subject.ts');
const SubjectResult = lazy(() => import('./subject-result.tsx'));

/** The result comes above the box, in place of the children, and is scrolled to. */
export function VerifyBox({ children }: { children?: ReactNode }) {
  const [, navigate] = useLocation();
  const [text, textField] = useField();
  const [found, setFound] = useState<(Found & { name: string }) | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const read = (await reader()).readText(text);
    const address = addressOf(read);
    if (address === null) setFound({ ...read, name: 'what you entered' });
    else navigate(...address);
  };
  return (
    <>
      {found === null ? children : <Result found={found} />}
      <div className="grid-wide">
        <Card title="By a hash, an id or an address">
          <form onSubmit={submit} noValidate>
            <TextField
              label="Hash, task id, address or document"
              placeholder="0x…"
              autoComplete="off"
              spellCheck={false}
              {...textField}
            />
            <Button type="submit" variant="filled" mt="md">
              Verify
            </Button>
          </form>
        </Card>
        <Card title="By a file">
          <FileDrop
            accept=".json,application/json"
            onFiles={async ([file]) => {
              if (file === undefined) return;
              setFound({ ...(await (await reader()).readFile(file)), name: file.name });
            }}
          >
            Drop a receipt, a bundle or evidence here, or <u>choose a file</u>
          </FileDrop>
          <Text c="dimmed" mt="sm">
            The file stays on this computer. The browser hashes it and sends only hash and task id.
          </Text>
        </Card>
      </div>
    </>
  );
}

function Result({ found }: { found: Found & { name: string } }) {
  const section = useRef<HTMLElement>(null);
  const id = useId();
  useEffect(() => {
    if (found) section.current?.scrollIntoView({ block: 'start' });
  }, [found]);
  return (
    <section className="stack verify-result" ref={section} aria-labelledby={id}>
      <h2 className="card-title" id={id}>
        Result for {found.name}
      </h2>
      <Suspense fallback={<Loading what="checks" />}>
        <SubjectResult found={found} />
      </Suspense>
    </section>
  );
}

/** The page to share of a hash or address, with what it was recognized as; null for anything else. */
function addressOf(found: Found): [string, { state: { kind: string } }] | null {
  if ('refusal' in found || !('proofHash' in found.recognized)) return null;
  const { kind, proofHash, taskId, stated } = found.recognized;
  if (stated !== null || kind === 'evidence') return null;
  const search = taskId === null ? '' : `?task_id=${taskId}`;
  return [`/verify/${proofHash}${search}`, { state: { kind } }];
}
