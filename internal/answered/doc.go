// Package answered notes what a handler answers, for logs and traces.
package answered
