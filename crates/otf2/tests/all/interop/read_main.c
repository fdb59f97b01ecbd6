/*
 * The frame of the generated reader: prints every record that libotf2 delivers.
 *
 *   reader ANCHOR LOCATION...
 *
 * First what the anchor says, then global definitions, local definitions, events, snapshots and
 * markers. Local definitions are read before events, so mapping tables and clock offsets are
 * applied as libotf2 applies them. Thumbnails are missing: the thumbnail reader of libotf2 3.0.2
 * never loads the first chunk and so fails on every file.
 */

static void
read_anchor( OTF2_Reader* reader )
{
    uint64_t events, defs, locations, definitions, trace_id;
    uint32_t snapshots, thumbnails, properties;
    uint8_t  major, minor, bugfix;
    char*    text;
    char**   names;
    check( OTF2_Reader_GetChunkSize( reader, &events, &defs ), "chunk sizes" );
    check( OTF2_Reader_GetNumberOfLocations( reader, &locations ), "locations" );
    check( OTF2_Reader_GetNumberOfGlobalDefinitions( reader, &definitions ), "definitions" );
    check( OTF2_Reader_GetTraceId( reader, &trace_id ), "trace id" );
    check( OTF2_Reader_GetNumberOfSnapshots( reader, &snapshots ), "snapshots" );
    check( OTF2_Reader_GetNumberOfThumbnails( reader, &thumbnails ), "thumbnails" );
    check( OTF2_Reader_GetVersion( reader, &major, &minor, &bugfix ), "version" );
    printf( "A chunks %" PRIu64 " %" PRIu64 "\n", events, defs );
    printf( "A counts %" PRIu64 " %" PRIu64 " %u %u\n", locations, definitions, snapshots, thumbnails );
    printf( "A version %u %u %u\n", major, minor, bugfix );
    printf( "A trace %" PRIu64 "\n", trace_id );
    check( OTF2_Reader_GetMachineName( reader, &text ), "machine" );
    put_word( "A machine " );
    put_text( text );
    check( OTF2_Reader_GetCreator( reader, &text ), "creator" );
    put_word( "\nA creator " );
    put_text( text );
    check( OTF2_Reader_GetDescription( reader, &text ), "description" );
    put_word( "\nA description " );
    put_text( text );
    put_char( '\n' );
    check( OTF2_Reader_GetPropertyNames( reader, &properties, &names ), "properties" );
    for ( uint32_t i = 0; i < properties; i++ )
    {
        check( OTF2_Reader_GetProperty( reader, names[ i ], &text ), "property" );
        printf( "A property %s ", names[ i ] );
        put_text( text );
        put_char( '\n' );
    }
}

static void
read_local_defs( OTF2_Reader* reader, uint64_t* locations, int count )
{
    uint64_t read;
    check( OTF2_Reader_OpenDefFiles( reader ), "open definition files" );
    OTF2_DefReaderCallbacks* callbacks = local_def_callbacks();
    for ( int i = 0; i < count; i++ )
    {
        OTF2_DefReader* defs = OTF2_Reader_GetDefReader( reader, locations[ i ] );
        if ( defs )
        {
            check( OTF2_Reader_RegisterDefCallbacks( reader, defs, callbacks, &locations[ i ] ), "callbacks" );
            check( OTF2_Reader_ReadAllLocalDefinitions( reader, defs, &read ), "local definitions" );
            check( OTF2_Reader_CloseDefReader( reader, defs ), "close definition reader" );
        }
    }
    check( OTF2_Reader_CloseDefFiles( reader ), "close definition files" );
}

static void
read_events( OTF2_Reader* reader, uint64_t* locations, int count )
{
    uint64_t read;
    check( OTF2_Reader_OpenEvtFiles( reader ), "open event files" );
    OTF2_EvtReaderCallbacks* callbacks = evt_callbacks();
    for ( int i = 0; i < count; i++ )
    {
        OTF2_EvtReader* events = present( OTF2_Reader_GetEvtReader( reader, locations[ i ] ), "event reader" );
        check( OTF2_Reader_RegisterEvtCallbacks( reader, events, callbacks, NULL ), "callbacks" );
        check( OTF2_Reader_ReadAllLocalEvents( reader, events, &read ), "events" );
        printf( "N %" PRIu64 " %" PRIu64 "\n", locations[ i ], read );
        check( OTF2_Reader_CloseEvtReader( reader, events ), "close event reader" );
    }
    check( OTF2_Reader_CloseEvtFiles( reader ), "close event files" );
}

static bool
exists( const char* anchor, const char* suffix )
{
    char path[ 4096 ];
    snprintf( path, sizeof( path ), "%.*s%s", ( int )( strlen( anchor ) - strlen( ".otf2" ) ), anchor, suffix );
    FILE* file = fopen( path, "r" );
    return file && !fclose( file );
}

static void
read_snapshots( OTF2_Reader* reader, const char* anchor, uint64_t* locations, int count )
{
    uint64_t read;
    check( OTF2_Reader_OpenSnapFiles( reader ), "open snapshot files" );
    OTF2_SnapReaderCallbacks* callbacks = snap_callbacks();
    for ( int i = 0; i < count; i++ )
    {
        char suffix[ 64 ];
        snprintf( suffix, sizeof( suffix ), "/%" PRIu64 ".snap", locations[ i ] );
        if ( exists( anchor, suffix ) )
        {
            OTF2_SnapReader* snaps = present( OTF2_Reader_GetSnapReader( reader, locations[ i ] ), "snapshot reader" );
            check( OTF2_Reader_RegisterSnapCallbacks( reader, snaps, callbacks, NULL ), "callbacks" );
            check( OTF2_Reader_ReadAllLocalSnapshots( reader, snaps, &read ), "snapshots" );
            check( OTF2_Reader_CloseSnapReader( reader, snaps ), "close snapshot reader" );
        }
    }
    check( OTF2_Reader_CloseSnapFiles( reader ), "close snapshot files" );
}

int
main( int argc, char** argv )
{
    if ( argc < 2 )
    {
        fprintf( stderr, "usage: reader ANCHOR LOCATION...\n" );
        return 2;
    }
    static char buffer[ 1 << 20 ];
    setvbuf( stdout, buffer, _IOFBF, sizeof( buffer ) );
    int       count     = argc - 2;
    uint64_t* locations = calloc( ( size_t )count + 1, sizeof( *locations ) );
    uint64_t  read;

    OTF2_Reader* reader = present( OTF2_Reader_Open( argv[ 1 ] ), "archive" );
    check( OTF2_Reader_SetSerialCollectiveCallbacks( reader ), "collectives" );
    read_anchor( reader );

    OTF2_GlobalDefReader* defs = present( OTF2_Reader_GetGlobalDefReader( reader ), "global definitions" );
    check( OTF2_Reader_RegisterGlobalDefCallbacks( reader, defs, global_def_callbacks(), NULL ), "callbacks" );
    check( OTF2_Reader_ReadAllGlobalDefinitions( reader, defs, &read ), "global definitions" );
    check( OTF2_Reader_CloseGlobalDefReader( reader, defs ), "close global reader" );

    for ( int i = 0; i < count; i++ )
    {
        locations[ i ] = strtoull( argv[ 2 + i ], NULL, 10 );
        check( OTF2_Reader_SelectLocation( reader, locations[ i ] ), "select" );
    }
    read_local_defs( reader, locations, count );
    read_events( reader, locations, count );
    uint32_t snapshots;
    check( OTF2_Reader_GetNumberOfSnapshots( reader, &snapshots ), "snapshots" );
    if ( snapshots )
    {
        read_snapshots( reader, argv[ 1 ], locations, count );
    }
    if ( exists( argv[ 1 ], ".marker" ) )
    {
        OTF2_MarkerReader* markers = present( OTF2_Reader_GetMarkerReader( reader ), "marker reader" );
        check( OTF2_Reader_RegisterMarkerCallbacks( reader, markers, marker_callbacks(), NULL ), "callbacks" );
        check( OTF2_Reader_ReadAllMarkers( reader, markers, &read ), "markers" );
        check( OTF2_Reader_CloseMarkerReader( reader, markers ), "close marker reader" );
    }
    check( OTF2_Reader_Close( reader ), "close archive" );
    return 0;
}
