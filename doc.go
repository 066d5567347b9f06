// Package hapax is the root of the module: it holds no code, only the test of the rules of the house.
// Start at README.md and docs/architecture.md.
package hapax
