// Package schematest holds the JSON schema of definitions, schema/flags.json, to what
// package flags finds in documents. It has tests only. They are in this module because
// the library must not depend on a validator of schemas.
package schematest
