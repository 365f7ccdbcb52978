// Search for robots, fleets, tasks and pages, from anywhere in the dashboard.
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useDeferredValue } from 'react';
import { Link, useLocation } from 'wouter';
import { ServiceError } from './api.ts';
import { fleetsQuery, reading, robotsQuery, taskQuery } from './queries.ts';
import { Dialog } from './ui/dialog.tsx';
import { TextField, useField } from './ui/fields.tsx';

/** Results of each kind that are shown. */
const SHOWN = 6;

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface SearchProps {
  pages: readonly { path: string; label: string }[];
  onClose: () => void;
}

interface Result {
  href: string;
  name: string;
  kind: string;
}

export default function Search({ pages, onClose }: SearchProps) {
  const [typed, field] = useField();
  const [, navigate] = useLocation();
  const sought = useDeferredValue(typed.trim().toLowerCase());
  const { data: robots = [] } = useQuery(robotsQuery);
  const { data: fleets = [] } = useQuery(fleetsQuery);
  const query = { search: sought, limit: String(SHOWN) };
  const tasks = useQuery({
    ...reading(['tasks', 'search', sought], 'GET /api/v1/tasks', { query }),
    enabled: sought.length > 1,
  });
  // One request searches only the newest tasks.
  const named = useQuery({ ...taskQuery(sought), enabled: ID.test(sought) });
  const listed = (tasks.data?.items ?? []).filter(({ id }) => id !== named.data?.task.id);
  const matching = <Item,>(
    items: readonly Item[],
    textOf: (item: Item) => string,
    view: (item: Item) => Result,
  ) =>
    items
      .filter((item) => textOf(item).toLowerCase().includes(sought))
      .slice(0, SHOWN)
      .map(view);
  const results: Result[] =
    sought === ''
      ? []
      : [
          ...matching(
            robots,
            ({ name, id }) => `${name} ${id}`,
            ({ id, name }) => ({ href: `/robots/${id}`, name, kind: 'robot' }),
          ),
          ...matching(
            fleets,
            ({ name }) => name,
            ({ id, name }) => ({ href: `/robots?fleet=${id}`, name, kind: 'fleet' }),
          ),
          ...[...(named.data ? [named.data.task] : []), ...listed].map(({ id, title }) => {
            return { href: `/tasks/${id}`, name: title, kind: 'task' };
          }),
          ...matching(
            pages,
            ({ label }) => label,
            ({ path, label }) => ({ href: path, name: label, kind: 'page' }),
          ),
        ];
  const isReading = tasks.isLoading || named.isLoading;
  const isUnknown = named.error instanceof ServiceError && named.error.status === 404;
  const failed = [tasks, ...(isUnknown ? [] : [named])].find(
    ({ isLoadingError }) => isLoadingError,
  );
  const nothing = tasks.data?.next_cursor ? 'Nothing among the newest tasks. ' : 'Nothing found';
  const openFirst = (event: FormEvent) => {
    event.preventDefault();
    const [first] = results;
    if (first === undefined) return;
    navigate(first.href);
    onClose();
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <form onSubmit={openFirst}>
        <TextField
          type="search"
          aria-label="Search robots, fleets, tasks and pages"
          placeholder="Name, title, id or hash"
          data-autofocus
          {...field}
        />
      </form>
      <ul className="search-results" aria-label="Results">
        {results.map(({ href, name, kind }) => (
          <li key={href}>
            <Link href={href} onClick={onClose}>
              {name}
            </Link>
            <span className="dash">{kind}</span>
          </li>
        ))}
      </ul>
      {failed && (
        <p role="alert" className="danger">
          Could not search the tasks: {failed.error?.message}
        </p>
      )}
      <p role="status" className="dash">
        {sought !== '' && results.length === 0 && !isReading && !failed && nothing}
        {tasks.data?.next_cursor && (
          <Link href={`/tasks?${new URLSearchParams({ search: sought })}`} onClick={onClose}>
            Search all tasks
          </Link>
        )}
      </p>
    </Dialog>
  );
}
