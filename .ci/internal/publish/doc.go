// Package publish makes releases of the repository's modules, and proves that what
// it makes can be used.
//
// [Open] reads the modules of a checkout. [Repo.Consume] packs them into a file
// proxy, as the proxies of the world will, and uses them from there like a newcomer:
// in empty folders, with an empty module cache and without a network. [Release]
// prepares a release with it.
package publish
