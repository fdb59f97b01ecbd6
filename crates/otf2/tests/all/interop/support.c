/*
 * Draws and prints values, for both C programs of the interoperation tests.
 *
 * Values are drawn from a generator with a seed, so that every run writes the same archive. The
 * mode of drawing says what for:
 *
 *   wild   every value the writers of libotf2 take, borders of the encodings above all;
 *   plain  likewise, but no record whose length libotf2 overestimates: such a record gets a long
 *          length field from libotf2 and a short one from us, and both are right;
 *   maps   small ids, so that mapping tables have something to map.
 *
 * Printing: numbers in decimal, real numbers as the hexadecimal digits of their bits, text with
 * everything but letters and digits as %XX.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <otf2/otf2.h>

#define MOST_ELEMENTS 10000

enum { WILD, PLAIN, MAPS };
static int drawing = WILD;

static void
check( OTF2_ErrorCode code, const char* what )
{
    if ( code != OTF2_SUCCESS )
    {
        fflush( stdout );
        fprintf( stderr, "%s: %s\n", what, OTF2_Error_GetDescription( code ) );
        exit( 3 );
    }
}

static void*
present( void* pointer, const char* what )
{
    if ( !pointer )
    {
        fflush( stdout );
        fprintf( stderr, "no %s\n", what );
        exit( 3 );
    }
    return pointer;
}

/* Printing. */

static void __attribute__( ( unused ) )
put_char( char c )
{
    putchar_unlocked( c );
}

static void __attribute__( ( unused ) )
put_word( const char* text )
{
    fputs( text, stdout );
}

static void
put_u64( uint64_t number )
{
    char  digits[ 24 ];
    char* at = digits + sizeof( digits );
    *--at = 0;
    do
    {
        *--at = ( char )( '0' + number % 10 );
    }
    while ( number /= 10 );
    fputs( at, stdout );
}

static void
put_i64( int64_t number )
{
    if ( number < 0 )
    {
        put_char( '-' );
        put_u64( -( uint64_t )number );
    }
    else
    {
        put_u64( ( uint64_t )number );
    }
}

#define IS_SIGNED( type ) ( ( type )-1 < ( type )1 )
#define PUT( type, value ) ( IS_SIGNED( type ) ? put_i64( ( int64_t )( value ) ) : put_u64( ( uint64_t )( value ) ) )

static void __attribute__( ( unused ) )
put_double( double number )
{
    uint64_t bits;
    memcpy( &bits, &number, sizeof( bits ) );
    printf( "x%016" PRIx64, bits );
}

static void __attribute__( ( unused ) )
put_text( const char* text )
{
    for (; *text; text++ )
    {
        unsigned char c = ( unsigned char )*text;
        if ( ( c >= '0' && c <= '9' ) || ( c >= 'a' && c <= 'z' ) || ( c >= 'A' && c <= 'Z' ) )
        {
            put_char( ( char )c );
        }
        else
        {
            printf( "%%%02X", c );
        }
    }
}

static void
put_typed( OTF2_Type type, OTF2_AttributeValue value )
{
    switch ( type )
    {
        case OTF2_TYPE_UINT8: put_u64( value.uint8 ); break;
        case OTF2_TYPE_UINT16: put_u64( value.uint16 ); break;
        case OTF2_TYPE_INT8: put_i64( value.int8 ); break;
        case OTF2_TYPE_INT16: put_i64( value.int16 ); break;
        case OTF2_TYPE_INT32: put_i64( value.int32 ); break;
        case OTF2_TYPE_INT64: put_i64( value.int64 ); break;
        case OTF2_TYPE_FLOAT: printf( "x%08" PRIx32, value.uint32 ); break;
        case OTF2_TYPE_DOUBLE: printf( "x%016" PRIx64, value.uint64 ); break;
        case OTF2_TYPE_LOCATION: put_u64( value.locationRef ); break;
        case OTF2_TYPE_NONE:
        case OTF2_TYPE_UINT64: put_u64( value.uint64 ); break;
        default:
            if ( type > OTF2_TYPE_LOCATION_GROUP )
            {
                put_u64( value.uint64 );
            }
            else
            {
                put_u64( value.uint32 ); /* All other references have 32 bits. */
            }
    }
}

struct map_state
{
    OTF2_IdMapMode mode;
    bool           more;
};

static void
put_pair( uint64_t local, uint64_t global, void* data )
{
    struct map_state* state = data;
    if ( state->more )
    {
        put_char( ',' );
    }
    state->more = true;
    if ( state->mode == OTF2_ID_MAP_SPARSE )
    {
        put_u64( local );
        put_char( '>' );
    }
    put_u64( global );
}

static void __attribute__( ( unused ) )
put_map( const OTF2_IdMap* map )
{
    struct map_state state = { 0, false };
    check( OTF2_IdMap_GetMode( map, &state.mode ), "mode of a mapping table" );
    put_word( state.mode == OTF2_ID_MAP_SPARSE ? "sparse[" : "dense[" );
    check( OTF2_IdMap_Traverse( map, put_pair, &state ), "traverse" );
    put_char( ']' );
}

static void __attribute__( ( unused ) )
put_name( const char* name )
{
    put_char( ' ' );
    put_word( name );
    put_char( '=' );
}

static void __attribute__( ( unused ) )
put_attributes( const OTF2_AttributeList* list )
{
    uint32_t count = OTF2_AttributeList_GetNumberOfElements( list );
    put_word( " [" );
    for ( uint32_t i = 0; i < count; i++ )
    {
        OTF2_AttributeRef   attribute;
        OTF2_Type           type;
        OTF2_AttributeValue value;
        check( OTF2_AttributeList_GetAttributeByIndex( list, i, &attribute, &type, &value ), "attribute" );
        if ( i )
        {
            put_char( ',' );
        }
        put_u64( attribute );
        put_char( ':' );
        put_u64( type );
        put_char( ':' );
        put_typed( type, value );
    }
    put_char( ']' );
}

static void __attribute__( ( unused ) )
put_event( const char* kind, uint64_t location, uint64_t number, uint64_t time, const char* name )
{
    printf( "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %s", kind, location, number, time, name );
}

static void __attribute__( ( unused ) )
put_snap( const char* kind, uint64_t location, uint64_t time, const char* name )
{
    printf( "%s %" PRIu64 " %" PRIu64 " %s", kind, location, time, name );
}

static void __attribute__( ( unused ) )
put_local( const char* kind, uint64_t location, const char* name )
{
    printf( "%s %" PRIu64 " %s", kind, location, name );
}

/* Drawing. */

static uint64_t random_state;

static uint64_t
draw( void )
{
    uint64_t z = ( random_state += 0x9E3779B97F4A7C15u );
    z = ( z ^ ( z >> 30 ) ) * 0xBF58476D1CE4E5B9u;
    z = ( z ^ ( z >> 27 ) ) * 0x94D049BB133111EBu;
    return z ^ ( z >> 31 );
}

static uint64_t
below( uint64_t limit )
{
    return draw() % limit;
}

/* A number of so many bytes: borders of the compressed form half of the time. */
static uint64_t
pick_number( unsigned size )
{
    uint64_t most = size == 8 ? UINT64_MAX : ( ( uint64_t )1 << 8 * size ) - 1;
    if ( drawing == MAPS && below( 10 ) < 8 )
    {
        return below( 70 ) & most;
    }
    switch ( below( 8 ) )
    {
        case 0: return 0;
        case 1: return most; /* undefined */
        case 2:
        case 3:
        {
            /* Around a power of 256, or of 2. */
            unsigned bits = below( 2 ) ? 8 * ( unsigned )below( size ) : ( unsigned )below( 8 * size );
            return ( ( ( uint64_t )1 << bits ) - 1 + below( 3 ) ) & most;
        }
        default: return draw() >> below( 64 ) & most;
    }
}

#define PICK( type ) ( ( type )pick_number( sizeof( type ) ) )

static double __attribute__( ( unused ) )
pick_double( void )
{
    uint64_t bits = pick_number( 8 );
    double   number;
    memcpy( &number, &bits, sizeof( bits ) );
    return number;
}

/* Most types are known ones. */
static OTF2_Type
pick_type( void )
{
    return ( OTF2_Type )( below( 16 ) ? below( OTF2_TYPE_LOCATION_GROUP + 1 ) : pick_number( 1 ) );
}

static OTF2_AttributeValue
pick_value( OTF2_Type type )
{
    OTF2_AttributeValue value;
    value.uint64 = 0;
    switch ( type )
    {
        case OTF2_TYPE_UINT8:
        case OTF2_TYPE_INT8: value.uint8 = PICK( uint8_t ); break;
        case OTF2_TYPE_UINT16:
        case OTF2_TYPE_INT16: value.uint16 = PICK( uint16_t ); break;
        case OTF2_TYPE_NONE:
        case OTF2_TYPE_UINT64:
        case OTF2_TYPE_INT64:
        case OTF2_TYPE_DOUBLE:
        case OTF2_TYPE_LOCATION: value.uint64 = PICK( uint64_t ); break;
        default:
            if ( type > OTF2_TYPE_LOCATION_GROUP )
            {
                value.uint64 = PICK( uint64_t );
            }
            else
            {
                value.uint32 = PICK( uint32_t );
            }
    }
    return value;
}

static unsigned most_text = 600;

static const char* __attribute__( ( unused ) )
pick_text( void )
{
    static char buffers[ 4 ][ 1024 ];
    static int  used;
    char*       text   = buffers[ used++ % 4 ];
    uint64_t    length = 0;
    switch ( below( 5 ) )
    {
        case 0: length = below( 3 ); break;
        case 1: length = 240 + below( 24 ); break;
        case 2: length = below( 600 ); break;
        default: length = below( 40 );
    }
    length = length < most_text ? length : most_text;
    for ( uint64_t i = 0; i < length; i++ )
    {
        text[ i ] = ( char )( below( 6 ) ? 'a' + below( 26 ) : 1 + below( 255 ) );
    }
    text[ length ] = 0;
    return text;
}

/* Number of elements of an array. A bound above 0 is the estimate of libotf2 for one. */
static uint32_t __attribute__( ( unused ) )
pick_count( unsigned size, unsigned bound )
{
    uint64_t most  = size == 1 ? 255 : 300;
    uint64_t count = below( most + 1 );
    switch ( below( 6 ) )
    {
        case 0: count = 0; break;
        case 1: count = most - below( 3 ); break;
        case 2: count = drawing == WILD && size > 1 && !below( 8 ) ? MOST_ELEMENTS : 24; break;
        case 3:
        case 4: count = below( 6 ); break;
        default: break;
    }
    if ( drawing == PLAIN && bound )
    {
        count %= 200 / bound;
    }
    return ( uint32_t )count;
}
