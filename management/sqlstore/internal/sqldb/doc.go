// Package sqldb is the store that packages sqlite and postgres open. They give it
// connections and a [Dialect]. The documentation of package sqlstore says what the
// store promises.
package sqldb
