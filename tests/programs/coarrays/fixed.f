C     Fixed form: comments, continuation in column 6, text behind column 72, blanks inside of words, Hollerith.
* sync all
      PROGRAM FIXED
      INTEGER A(4)[*], V(4), ME, K                                      SEQ00001
      R E A L*8 HEIGHT
      SAVE A
      ME = THIS_IMAGE()
      K = MOD(ME, NUM_IMAGES()) + 1
      HEIGHT = 2
      A = ME
      S Y N C  A L L
      V(1) = A(1)
     1       [K] + 1
      V(2) = A(2)[                                                      ]
     + K]
c     V(3) = A(3)[K]
      IF (ME .EQ. 1) V(3) = A(3)[K]                                     ]
      IF (A(4)[K] .EQ. K) GO TO 1 0
      V(3) = -1
   10 V(4) = A(4)[1]
      IF (ME .EQ. 2) V(3) = 0
      SYNC ALL
      IF (ME .EQ. 1) PRINT 20, V
      IF (ME .EQ. 1) PRINT *, HEIGHT, 'IT''S
     1 A(1)[K]'
   20 FORMAT (8Ha(1)[k]=, 4I4)
      END
