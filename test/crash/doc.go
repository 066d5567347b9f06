// Package crash kills real server processes under load and judges what is left: the store on disk, what every client was told,
// and what every client holds.
package crash
