// Package cohorts has the screens of cohorts and of their members.
package cohorts
