// Base runs a program, GoReleaser, beside a registry on this machine that has the base
// image of the image that GoReleaser makes: certificates, time zones, an empty /data, and
// settings. It is made anew of what go.mod and Go have, so that equal commits make equal
// images.
package main
