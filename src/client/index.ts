// Entry point of the package `robot-svc`.
// biome-ignore-all lint/performance/noBarrelFile: package entry point
export { SvcError, type SvcErrorOptions } from '../base/svc-error.ts';
export type { ErrorCode } from '../protocol/errors.ts';
export type { Answer, Body, Input, Params, Query, RouteName } from '../protocol/routes.ts';
export { type Client, type ClientOptions, createClient, type Fetch } from './client.ts';
