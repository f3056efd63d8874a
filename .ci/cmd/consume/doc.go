// Consume proves that the modules of this checkout can be used once they are tagged:
// it packs them, and uses them like a newcomer, without a network. See package publish.
package main
