# Debug information of one function with DEPTH inlined calls in each other, a byte for each.
        .text
        .type deep, @function
        .size deep, end - deep
deep:   nop
        nop
        ret
end:
        .section .debug_abbrev,"",@progbits
        .uleb128 1, 0x11                # compilation unit with children
        .byte 1
        .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0
        .uleb128 2, 0x2e                # subprogram with children
        .byte 1
        .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0
        .uleb128 3, 0x1d                # inlined subroutine with children, nothing else
        .byte 1
        .uleb128 0, 0
        .byte 0
        .section .debug_info,"",@progbits
        .long 2f - 1f
1:      .short 4
        .long 0
        .byte 8
        .uleb128 1
        .asciz "deep.s"
        .quad deep, end - deep
        .uleb128 2
        .asciz "deep"
        .quad deep, end - deep
        .fill DEPTH, 1, 3
        .fill DEPTH + 2, 1, 0
2:
