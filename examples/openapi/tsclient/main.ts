// Lists the flags of a project with types that openapi-typescript has made of the document
// of the same server, in api.d.ts. ../run makes the types.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const [url, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });
const { data, error } = await client.GET("/api/projects/{project}/feature_flags", {
  params: { path: { project: "@current" } },
});
if (!data) {
  throw new Error(`the server says ${error.code}: ${error.detail}`);
}
for (const flag of data.results) {
  console.log(flag.key);
}
