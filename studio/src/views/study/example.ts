/** A game of atomic-gpu against itself, 48 visits a move with noise: it has large mistakes. */
export const EXAMPLE_PGN = `[Event "atomic-gpu against itself, 48 visits"]
[White "atomic-gpu"]
[Black "atomic-gpu"]
[Result "1-0"]
[Variant "Atomic"]

1. Nf3 e5 2. d4 Bb4+ 3. c3 Qe7 4. Bg5 Nf6 5. cxb4 Qb4+ 6. Nc3 Qa3 7. Nxe5 Qb4 8. e4 Nc6 9. Bb5 f6 10. Bf4 h5 11. Bxc7 O-O 12. Qa4 Qxc3 *
`;
