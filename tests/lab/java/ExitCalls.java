package kafkactl.lab;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Turns calls of System.exit(int) in a class file into calls of ToolServer.exit(int).
 *
 * Done in the constant pool (Java Virtual Machine Specification, 4.4): the method reference keeps its number and
 * its name and type, and gets another class, appended to the pool. Code is not touched. A security manager
 * would do without, but is gone from newer Java.
 */
final class ExitCalls {
    private static final int UTF8 = 1;
    private static final int CLASS = 7;
    private static final int METHOD = 10;
    private static final int NAME_AND_TYPE = 12;
    private static final byte[] MARK = "java/lang/System".getBytes(StandardCharsets.US_ASCII);

    private final int[] tag;
    private final int[] start;
    private final int[] first;
    private final int[] second;
    private final String[] text;

    private ExitCalls(int count) {
        tag = new int[count];
        start = new int[count];
        first = new int[count];
        second = new int[count];
        text = new String[count];
    }

    /** The changed class file, or null if it does not call System.exit. */
    static byte[] redirected(byte[] file) throws IOException {
        if (!contains(file, MARK)) {
            return null;
        }
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(file));
        in.skipNBytes(8);
        int count = in.readUnsignedShort();
        ExitCalls pool = new ExitCalls(count);
        for (int index = 1; index < count; index++) {
            pool.start[index] = file.length - in.available();
            pool.read(in, index);
            if (pool.tag[index] == 5 || pool.tag[index] == 6) {
                index++;  // long and double take two places
            }
        }
        int end = file.length - in.available();
        boolean changed = false;
        for (int index = 1; index < count; index++) {
            if (pool.isExit(index)) {
                putShort(file, pool.start[index] + 1, count + 1);
                changed = true;
            }
        }
        return changed ? withTarget(file, count, end) : null;
    }

    private void read(DataInputStream in, int index) throws IOException {
        tag[index] = in.readUnsignedByte();
        switch (tag[index]) {
            case UTF8 -> text[index] = in.readUTF();
            case CLASS, 8, 16, 19, 20 -> first[index] = in.readUnsignedShort();
            case 3, 4 -> in.skipNBytes(4);
            case 5, 6 -> in.skipNBytes(8);
            case 15 -> in.skipNBytes(3);
            case 9, METHOD, 11, NAME_AND_TYPE, 17, 18 -> {
                first[index] = in.readUnsignedShort();
                second[index] = in.readUnsignedShort();
            }
            default -> throw new IOException("constant pool tag " + tag[index]);
        }
    }

    private boolean isExit(int index) {
        return tag[index] == METHOD
            && "java/lang/System".equals(text[first[first[index]]])
            && "exit".equals(text[first[second[index]]])
            && "(I)V".equals(text[second[second[index]]]);
    }

    /** Appends a name (number count) and a class of that name (number count + 1) to the pool. */
    private static byte[] withTarget(byte[] file, int count, int end) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(file.length + 64);
        DataOutputStream out = new DataOutputStream(bytes);
        out.write(file, 0, 8);
        out.writeShort(count + 2);
        out.write(file, 10, end - 10);
        out.writeByte(UTF8);
        out.writeUTF("kafkactl/lab/ToolServer");
        out.writeByte(CLASS);
        out.writeShort(count);
        out.write(file, end, file.length - end);
        return bytes.toByteArray();
    }

    private static void putShort(byte[] file, int at, int value) {
        file[at] = (byte) (value >> 8);
        file[at + 1] = (byte) value;
    }

    private static boolean contains(byte[] file, byte[] wanted) {
        for (int at = 0; at <= file.length - wanted.length; at++) {
            if (file[at] == wanted[0] && Arrays.equals(file, at, at + wanted.length, wanted, 0, wanted.length)) {
                return true;
            }
        }
        return false;
    }
}
