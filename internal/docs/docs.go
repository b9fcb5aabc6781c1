// Package docs holds the test that runs what README and docs show.
package docs
