// Links to robots, by their names.
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { robotsQuery } from '../queries.ts';

/** Makes the link to a robot. It says `robot` until the names are loaded. */
export function useRobotLinks() {
  const { data: robots } = useQuery(robotsQuery);
  const names = new Map(robots?.map(({ id, name }) => [id, name]));
  return (id: string) => <Link href={`/robots/${id}`}>{names.get(id) ?? 'robot'}</Link>;
}
