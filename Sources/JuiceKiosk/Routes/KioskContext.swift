import Hummingbird

/// What the kiosk knows of a request besides the request itself.
public struct KioskContext: RequestContext {
    /// What Hummingbird needs.
    public var coreContext: CoreRequestContextStorage
    /// The address at the other end of the TCP connection, without its port: a browser's, or that of a proxy before the
    /// kiosk. Empty for a connection that has none.
    let peer: String

    /// The context of one request.
    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.channel.remoteAddress?.ipAddress ?? ""
    }
}
