// Package account has the screens of the user's own account and personal keys.
package account
