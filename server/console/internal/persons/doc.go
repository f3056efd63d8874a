// Package persons has the screens of persons and groups, and the screen that explains their flags.
package persons
