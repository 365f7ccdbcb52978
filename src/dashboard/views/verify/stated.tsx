// What the service states about a proof, before anything is checked: it writes this into the page, without reading the chain.
import { useQuery } from '@tanstack/react-query';
import type { Subject } from '../../../proof/subject/subject.ts';
import { Card, Fact } from '../../ui/card.tsx';
import { Hex } from '../../ui/values.tsx';

export interface Stated {
  title: string;
  text: string;
  facts: [string, string][];
}

/** Null if the service states nothing, as before the anchor is final. */
export function useStated({ proofHash, taskId }: Subject): Stated | null {
  const address = `/verify/${proofHash}${taskId === null ? '' : `?task_id=${taskId}`}`;
  const { data } = useQuery({
    queryKey: ['stated', address],
    queryFn: async ({ signal }) => {
      const html = await (await fetch(address, { signal })).text();
      return statedIn(new DOMParser().parseFromString(html, 'text/html'));
    },
    // The first view is rendered before it replaces what the service wrote.
    initialData: () => statedIn(document) ?? undefined,
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data ?? null;
}

function statedIn(page: Document): Stated | null {
  const main = page.querySelector('.stated');
  if (main === null) return null;
  const textOf = (element: Element | null) => element?.textContent ?? '';
  const facts = [...main.querySelectorAll('dt')].map((name): [string, string] => [
    textOf(name),
    textOf(name.nextElementSibling),
  ]);
  const [title, text] = ['h1', 'p'].map((tag) => textOf(main.querySelector(tag)));
  return { title: title ?? '', text: text ?? '', facts };
}

export function StatedCard({ stated: { text, facts } }: { stated: Stated }) {
  return (
    <Card title="Stated by the service, not checked">
      <p className="description">{text}</p>
      <dl className="facts stated-facts">
        {facts.map(([name, value]) => (
          <Fact key={name} name={name}>
            {value.startsWith('0x') ? <Hex value={value} what={name.toLowerCase()} /> : value}
          </Fact>
        ))}
      </dl>
    </Card>
  );
}
