/*
 * The frame of the generated writer: makes an archive and prints every record in it.
 *
 *   writer wild|plain SEED DIRECTORY   every record of every file
 *   writer maps SEED DIRECTORY         events under mapping tables and clock offsets
 *   writer zero SEED DIRECTORY         three chunks of events, all of time 0
 */

#define CHUNK ( 256 * 1024 )
#define LENGTH( array ) ( sizeof( array ) / sizeof( ( array )[ 0 ] ) )

static OTF2_FlushType
pre_flush( void* data, OTF2_FileType type, OTF2_LocationRef location, void* caller, bool final )
{
    ( void )data, ( void )type, ( void )location, ( void )caller, ( void )final;
    return OTF2_FLUSH;
}

static OTF2_FlushCallbacks flush_callbacks = { pre_flush, NULL };

static OTF2_Archive*
open_archive( const char* directory )
{
    OTF2_Archive* archive = present(
        OTF2_Archive_Open( directory, "traces", OTF2_FILEMODE_WRITE, CHUNK, CHUNK,
                           OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE ),
        "archive" );
    check( OTF2_Archive_SetFlushCallbacks( archive, &flush_callbacks, NULL ), "flush callbacks" );
    check( OTF2_Archive_SetSerialCollectiveCallbacks( archive ), "collectives" );
    check( OTF2_Archive_SetMachineName( archive, "machine" ), "machine" );
    check( OTF2_Archive_SetCreator( archive, "interop" ), "creator" );
    check( OTF2_Archive_SetDescription( archive, "" ), "description" );
    check( OTF2_Archive_SetProperty( archive, "DWELL::INTEROP", "yes", false ), "property" );
    check( OTF2_Archive_SetBoolProperty( archive, "OTF2::A_2::B", true, false ), "property" );
    return archive;
}

/* The list that goes to libotf2, which empties it, and the same for printing. */
static OTF2_AttributeList* given_list;
static OTF2_AttributeList* shown_list;

static void
add_attribute( OTF2_AttributeRef attribute, OTF2_Type type )
{
    if ( OTF2_AttributeList_TestAttributeByID( given_list, attribute ) )
    {
        return; /* Once in a list. */
    }
    OTF2_AttributeValue value = pick_value( type );
    check( OTF2_AttributeList_AddAttribute( given_list, attribute, type, value ), "attribute" );
    check( OTF2_AttributeList_AddAttribute( shown_list, attribute, type, value ), "attribute" );
}

static void
pick_attributes( void )
{
    check( OTF2_AttributeList_RemoveAllAttributes( given_list ), "attributes" );
    check( OTF2_AttributeList_RemoveAllAttributes( shown_list ), "attributes" );
    uint64_t count = 0;
    switch ( below( 40 ) )
    {
        case 0: /* One of each type. */
            for ( unsigned type = 0; type <= OTF2_TYPE_LOCATION_GROUP && drawing != PLAIN; type++ )
            {
                add_attribute( 1000 + type, ( OTF2_Type )type );
            }
            return;
        case 1: count = drawing == PLAIN ? 15 : 14 + below( 12 ); break;
        case 2: count = drawing == PLAIN ? 3 : below( 300 ); break;
        case 3:
        case 4:
        case 5:
        case 6: count = 1 + below( 4 ); break;
        default: break;
    }
    for ( uint64_t i = 0; i < count; i++ )
    {
        add_attribute( PICK( OTF2_AttributeRef ), pick_type() );
    }
}

/* Times: at first some 0 if they are to be wild, then equal or rising, now and then by much. */
static uint64_t
next_time( uint64_t time, uint64_t number )
{
    if ( drawing == WILD && number < 10 )
    {
        return 0;
    }
    switch ( below( 8 ) )
    {
        case 0:
        case 1: return time;
        case 2: return time + below( drawing == WILD ? ( uint64_t )1 << 40 : 5000 );
        default: return time + 1 + below( 900 );
    }
}

/* libotf2 walks clock intervals forward only, and the end of a flush moves it as an event does. */
static uint64_t flush_end;

static uint64_t
pick_stop_time( uint64_t time )
{
    return flush_end = drawing == MAPS ? time + below( 3000 ) : pick_number( 8 );
}

static uint64_t offset_time, offset_step;

static uint64_t
pick_offset_time( void )
{
    uint64_t time = offset_time;
    offset_time += 1 + below( offset_step );
    return time;
}

static unsigned mapping_types;

static OTF2_MappingType
pick_mapping_type( void )
{
    return ( OTF2_MappingType )mapping_types++;
}

/* libotf2 does not read a list in which two attributes have become one: so, a permutation. */
static const OTF2_IdMap*
attribute_map( uint64_t length, uint64_t shift )
{
    uint64_t    step = 1 + below( 2 );
    OTF2_IdMap* map  = OTF2_IdMap_Create( step == 1 ? OTF2_ID_MAP_DENSE : OTF2_ID_MAP_SPARSE, length );
    for ( uint64_t i = 0; i < length; i++ )
    {
        check( OTF2_IdMap_AddIdPair( map, step * i, step * ( ( i + shift ) % length ) ), "pair" );
    }
    return map;
}

static const OTF2_IdMap*
pick_map( void )
{
    uint64_t length = 1 + below( 100 );
    uint64_t globals[ 100 ];
    if ( drawing == MAPS && mapping_types == OTF2_MAPPING_ATTRIBUTE + 1 )
    {
        return attribute_map( length, below( length ) );
    }
    for ( uint64_t i = 0; i < length; i++ )
    {
        globals[ i ] = below( 4 ) ? below( 200 ) : pick_number( 8 );
    }
    OTF2_IdMap* map = NULL;
    switch ( below( 3 ) )
    {
        case 0: map = OTF2_IdMap_CreateFromUint64Array( length, globals, false ); break;
        case 1: /* Few differences: libotf2 chooses sparse. */
            for ( uint64_t i = 0; i < length; i++ )
            {
                globals[ i ] = below( 4 ) ? i : globals[ i ];
            }
            globals[ length - 1 ] = 7777;
            map = OTF2_IdMap_CreateFromUint64Array( length, globals, true );
            break;
        default:
            map = OTF2_IdMap_Create( OTF2_ID_MAP_SPARSE, length );
            for ( uint64_t i = 0; i < length; i++ )
            {
                uint64_t local = below( 4 ) ? below( 70 ) : pick_number( 4 );
                check( OTF2_IdMap_AddIdPair( map, local, globals[ i ] ), "pair" );
            }
    }
    return present( map, "map" );
}

static uint64_t
write_events( OTF2_Archive* archive, uint64_t location, uint64_t begin, unsigned rounds )
{
    OTF2_EvtWriter* writer = present( OTF2_Archive_GetEvtWriter( archive, location ), "event writer" );
    uint64_t        time   = begin;
    uint64_t        number = 0;
    for ( unsigned round = 0; round < rounds; round++ )
    {
        for ( size_t i = 0; i < LENGTH( evt_writers ); i++ )
        {
            /* Every other round in random order. */
            size_t record = round % 2 ? below( LENGTH( evt_writers ) ) : i;
            time      = next_time( time, number );
            flush_end = 0;
            pick_attributes();
            evt_writers[ record ]( writer, location, ++number, given_list, time );
            if ( drawing == MAPS && flush_end > time )
            {
                time = flush_end;
            }
        }
    }
    uint64_t counted;
    check( OTF2_EvtWriter_GetNumberOfEvents( writer, &counted ), "number of events" );
    printf( "N %" PRIu64 " %" PRIu64 "\n", location, counted );
    check( OTF2_Archive_CloseEvtWriter( archive, writer ), "close event writer" );
    return counted;
}

static void
write_snapshots( OTF2_Archive* archive, uint64_t location, unsigned rounds )
{
    OTF2_SnapWriter* writer = present( OTF2_Archive_GetSnapWriter( archive, location ), "snapshot writer" );
    uint64_t         time   = 100;
    for ( unsigned round = 0; round < rounds; round++ )
    {
        for ( size_t i = 0; i < LENGTH( snap_writers ); i++ )
        {
            time = next_time( time, 100 );
            pick_attributes();
            snap_writers[ i ]( writer, location, given_list, time );
        }
    }
    check( OTF2_Archive_CloseSnapWriter( archive, writer ), "close snapshot writer" );
}

/* All kinds of local definition; of mapping tables, one for each kind of id. */
static void
write_local_defs( OTF2_Archive* archive, uint64_t location, unsigned rounds )
{
    OTF2_DefWriter* writer = present( OTF2_Archive_GetDefWriter( archive, location ), "definition writer" );
    mapping_types = 0;
    offset_time   = 0;
    offset_step   = ( uint64_t )1 << 40;
    for ( unsigned round = 0; round < rounds; round++ )
    {
        for ( size_t i = 0; i < LENGTH( local_def_writers ); i++ )
        {
            if ( local_def_writers[ i ] != write_local_def_MappingTable || mapping_types < OTF2_MAPPING_MAX )
            {
                local_def_writers[ i ]( writer, location );
            }
        }
    }
    check( OTF2_Archive_CloseDefWriter( archive, writer ), "close definition writer" );
}

/* Mapping tables for most kinds of id, and clock offsets around the times of the events. */
static void
write_tables( OTF2_Archive* archive, uint64_t location, uint64_t begin, unsigned offsets )
{
    OTF2_DefWriter* writer = present( OTF2_Archive_GetDefWriter( archive, location ), "definition writer" );
    for ( mapping_types = 0; mapping_types < OTF2_MAPPING_MAX; )
    {
        if ( location && !below( 6 ) )
        {
            mapping_types++;
        }
        else
        {
            write_local_def_MappingTable( writer, location );
        }
    }
    offset_time = begin + below( 200000 );
    for ( unsigned i = 0; i < offsets; i++ )
    {
        /* Slopes from steep to flat, up and down. */
        int64_t offset = ( int64_t )( draw() >> ( 20 + below( 36 ) ) );
        offset = below( 2 ) ? -offset : offset;
        offset_step = below( 2 ) ? 100 : 400000;
        check( OTF2_DefWriter_WriteClockOffset( writer, pick_offset_time(), offset, 0.5 ), "offset" );
    }
    check( OTF2_Archive_CloseDefWriter( archive, writer ), "close definition writer" );
}

static void
empty_local_defs( OTF2_Archive* archive, uint64_t location )
{
    OTF2_DefWriter* writer = present( OTF2_Archive_GetDefWriter( archive, location ), "definition writer" );
    check( OTF2_Archive_CloseDefWriter( archive, writer ), "close definition writer" );
}

/* Global definitions that otf2-print can follow: one location for each count of events. */
static void
sane_defs( OTF2_Archive* archive, const uint64_t* locations, const uint64_t* events, unsigned count )
{
    OTF2_GlobalDefWriter* writer = present( OTF2_Archive_GetGlobalDefWriter( archive ), "global writer" );
    check( OTF2_GlobalDefWriter_WriteClockProperties( writer, 1000, 0, 1000, 0 ), "clock" );
    check( OTF2_GlobalDefWriter_WriteString( writer, 0, "a" ), "string" );
    check( OTF2_GlobalDefWriter_WriteSystemTreeNode( writer, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE ), "node" );
    check( OTF2_GlobalDefWriter_WriteLocationGroup( writer, 0, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                    OTF2_UNDEFINED_LOCATION_GROUP ), "group" );
    check( OTF2_GlobalDefWriter_WriteRegion( writer, 0, 0, 0, 0, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER,
                                             OTF2_REGION_FLAG_NONE, 0, 0, 0 ), "region" );
    for ( unsigned i = 0; i < count; i++ )
    {
        check( OTF2_GlobalDefWriter_WriteLocation( writer, locations[ i ], 0, OTF2_LOCATION_TYPE_CPU_THREAD,
                                                   events[ i ], 0 ), "location" );
    }
    check( OTF2_Archive_CloseGlobalDefWriter( archive, writer ), "close global writer" );
}

static void
write_thumbnails( OTF2_Archive* archive )
{
    for ( unsigned k = 0; k < 3; k++ )
    {
        static uint64_t values[ 200 ];
        uint32_t        count   = drawing == PLAIN ? 7 + k : 1 + 99 * k;
        uint32_t        samples = 20 + k;
        const char*     name    = pick_text();
        const char*     text    = pick_text();
        for ( uint32_t i = 0; i < count; i++ )
        {
            values[ i ] = pick_number( 8 );
        }
        OTF2_ThumbWriter* writer = present(
            OTF2_Archive_GetThumbWriter( archive, name, text, ( OTF2_ThumbnailType )k, samples, count, values ),
            "thumbnail writer" );
        printf( "T %u Header description=", k );
        put_text( text );
        put_name( "name" );
        put_text( name );
        printf( " number_of_samples=%u refs_to_defs=[", samples );
        for ( uint32_t i = 0; i < count; i++ )
        {
            printf( i ? ",%" PRIu64 : "%" PRIu64, values[ i ] );
        }
        printf( "] type=%u\n", k );
        for ( uint32_t sample = 0; sample < samples; sample++ )
        {
            uint64_t baseline = pick_number( 8 );
            printf( "T %u Sample baseline=%" PRIu64 " metric_samples=[", k, baseline );
            for ( uint32_t i = 0; i < count; i++ )
            {
                values[ i ] = pick_number( 8 );
                printf( i ? ",%" PRIu64 : "%" PRIu64, values[ i ] );
            }
            printf( "]\n" );
            check( OTF2_ThumbWriter_WriteSample( writer, baseline, count, values ), "sample" );
        }
    }
}

/* Locations 0 … 2 and one with a long id have events, the 100s have local definitions. */
static void
write_everything( OTF2_Archive* archive )
{
    static const uint64_t with_events[] = { 0, 1, 2, 0x123456789AB };
    const unsigned        rounds[]      = { drawing == PLAIN ? 400 : 150, 100, 1, 30 };
    static const uint64_t with_defs[]   = { 100, 101, 102, 103, 104, 105 };
    check( OTF2_Archive_OpenEvtFiles( archive ), "open event files" );
    for ( size_t i = 0; i < LENGTH( with_events ); i++ )
    {
        write_events( archive, with_events[ i ], drawing == PLAIN ? 1000 : 0, rounds[ i ] );
    }
    for ( size_t i = 0; i < LENGTH( with_defs ); i++ )
    {
        write_events( archive, with_defs[ i ], 0, 0 );
    }
    check( OTF2_Archive_CloseEvtFiles( archive ), "close event files" );

    check( OTF2_Archive_SetNumberOfSnapshots( archive, 1 ), "number of snapshots" );
    check( OTF2_Archive_OpenSnapFiles( archive ), "open snapshot files" );
    write_snapshots( archive, 0, 60 );
    write_snapshots( archive, 1, 400 );
    check( OTF2_Archive_CloseSnapFiles( archive ), "close snapshot files" );

    check( OTF2_Archive_OpenDefFiles( archive ), "open definition files" );
    for ( size_t i = 0; i < LENGTH( with_events ); i++ )
    {
        empty_local_defs( archive, with_events[ i ] );
    }
    for ( size_t i = 0; i < LENGTH( with_defs ); i++ )
    {
        write_local_defs( archive, with_defs[ i ], i ? 15 : 400 );
    }
    check( OTF2_Archive_CloseDefFiles( archive ), "close definition files" );

    OTF2_GlobalDefWriter* writer = present( OTF2_Archive_GetGlobalDefWriter( archive ), "global writer" );
    for ( unsigned round = 0; round < 400; round++ )
    {
        for ( size_t i = 0; i < LENGTH( global_def_writers ); i++ )
        {
            global_def_writers[ i ]( writer );
        }
    }
    check( OTF2_Archive_CloseGlobalDefWriter( archive, writer ), "close global writer" );

    most_text = drawing == PLAIN ? 50 : 600; /* Lengths of markers and thumbnails are estimated. */
    OTF2_MarkerWriter* markers = present( OTF2_Archive_GetMarkerWriter( archive ), "marker writer" );
    for ( unsigned round = 0; round < 100; round++ )
    {
        for ( size_t i = 0; i < LENGTH( marker_writers ); i++ )
        {
            marker_writers[ i ]( markers );
        }
    }
    check( OTF2_Archive_CloseMarkerWriter( archive, markers ), "close marker writer" );
    write_thumbnails( archive );
}

/* Twelve locations with different clocks, the last with times beyond the precision of doubles. */
static void
write_mapped( OTF2_Archive* archive )
{
    static const unsigned offsets[] = { 0, 1, 2, 2, 2, 3, 3, 5, 10, 100, 2, 50 };
    uint64_t              locations[ LENGTH( offsets ) ], events[ LENGTH( offsets ) ], begin[ LENGTH( offsets ) ];
    check( OTF2_Archive_OpenEvtFiles( archive ), "open event files" );
    for ( size_t i = 0; i < LENGTH( offsets ); i++ )
    {
        locations[ i ] = i;
        begin[ i ]     = i < 10 ? 5000000 : 0x1234567890ABCDEF;
        events[ i ]    = write_events( archive, i, begin[ i ], 7 );
    }
    check( OTF2_Archive_CloseEvtFiles( archive ), "close event files" );
    check( OTF2_Archive_OpenDefFiles( archive ), "open definition files" );
    for ( size_t i = 0; i < LENGTH( offsets ); i++ )
    {
        write_tables( archive, i, begin[ i ], offsets[ i ] );
    }
    check( OTF2_Archive_CloseDefFiles( archive ), "close definition files" );
    sane_defs( archive, locations, events, LENGTH( offsets ) );
}

static void
write_zeros( OTF2_Archive* archive )
{
    uint64_t location = 0, events = 60000;
    check( OTF2_Archive_OpenEvtFiles( archive ), "open event files" );
    OTF2_EvtWriter* writer = present( OTF2_Archive_GetEvtWriter( archive, location ), "event writer" );
    for ( uint64_t i = 0; i < events; i++ )
    {
        check( OTF2_EvtWriter_MpiIsendComplete( writer, NULL, 0, i ), "event" );
    }
    check( OTF2_Archive_CloseEvtWriter( archive, writer ), "close event writer" );
    check( OTF2_Archive_CloseEvtFiles( archive ), "close event files" );
    sane_defs( archive, &location, &events, 1 );
}

int
main( int argc, char** argv )
{
    if ( argc != 4 )
    {
        fprintf( stderr, "usage: writer wild|plain|maps|zero SEED DIRECTORY\n" );
        return 2;
    }
    static char buffer[ 1 << 20 ];
    setvbuf( stdout, buffer, _IOFBF, sizeof( buffer ) );
    drawing      = !strcmp( argv[ 1 ], "plain" ) ? PLAIN : !strcmp( argv[ 1 ], "maps" ) ? MAPS : WILD;
    random_state = strtoull( argv[ 2 ], NULL, 10 );
    given_list   = OTF2_AttributeList_New();
    shown_list   = OTF2_AttributeList_New();
    OTF2_Archive* archive = open_archive( argv[ 3 ] );
    if ( !strcmp( argv[ 1 ], "maps" ) )
    {
        write_mapped( archive );
    }
    else if ( !strcmp( argv[ 1 ], "zero" ) )
    {
        write_zeros( archive );
    }
    else
    {
        write_everything( archive );
    }
    check( OTF2_Archive_Close( archive ), "close archive" );
    return 0;
}
